------------------------------ MODULE ReadLease ------------------------------
(* Reads that a primary answers alone, as long as its lease lasts.           *)
(*                                                                           *)
(* Not in the code: the model comes first. A primary A of view 1 sends       *)
(* heartbeats; a backup that hears one promises, for a while on its own      *)
(* clock, to help no other primary. A's lease counts from when it sent the   *)
(* newest heartbeat that a quorum has answered. Clocks stand still now and   *)
(* then, together at most Skew ticks. Once the backups lead view 2 they      *)
(* commit something that A does not know.                                    *)
EXTENDS Naturals, FiniteSets

CONSTANTS Lease, Promise, \* in ticks of the clock of whoever counts them
          Skew,           \* a clock may be so much behind another
          TimeMax, BeatsMax,
          Bug

Backups == {"b", "c"}
Nodes == {"a"} \cup Backups

VARIABLES now,        \* true time
          clock,      \* what each node's clock shows
          sent,       \* heartbeats on their way, by A's clock when they were sent
          answers,    \* heartbeats that a backup has answered, and A has not heard
          lease,      \* A answers reads before that, by its own clock
          promised,   \* each backup helps nobody before that, by its own clock
          moved,      \* backups that have entered view 2
          committed,  \* view 2 has committed, and told it
          asked,      \* a read waits at A: "no", "before" or "after" that commit
          stale       \* a read that was asked after it was answered without it

vars == <<now, clock, sent, answers, lease, promised, moved, committed, asked, stale>>

Init ==
    /\ now = 0 /\ clock = [n \in Nodes |-> 0]
    /\ sent = {} /\ answers = {} /\ lease = 0
    /\ promised = [b \in Backups |-> 0]
    /\ moved = {} /\ committed = FALSE /\ asked = "no" /\ stale = FALSE

Max(set) == CHOOSE x \in set : \A y \in set : y <= x

Tick ==
    /\ now < TimeMax
    /\ now' = now + 1
    /\ \E still \in SUBSET Nodes :
        LET after == [n \in Nodes |-> IF n \in still THEN clock[n] ELSE clock[n] + 1]
        IN /\ \A n \in Nodes : now' - after[n] <= Skew
           /\ clock' = after
    /\ UNCHANGED <<sent, answers, lease, promised, moved, committed, asked, stale>>

Beat ==
    /\ Cardinality(sent) < BeatsMax
    /\ sent' = sent \cup {clock["a"]}
    /\ UNCHANGED <<now, clock, answers, lease, promised, moved, committed, asked, stale>>

(* A backup promises at receipt, for all that it may have promised before.   *)
Hear ==
    \E b \in Backups, beat \in sent :
        /\ b \notin moved
        /\ promised' = [promised EXCEPT ![b] = Max({@, clock[b] + Promise})]
        /\ answers' = answers \cup {beat}
        /\ UNCHANGED <<now, clock, sent, lease, moved, committed, asked, stale>>

(* Q-8: who has restarted does not know what it promised, and waits.         *)
Restart ==
    \E b \in Backups :
        /\ b \notin moved
        /\ promised' = [promised EXCEPT
            ![b] = IF Bug = "promise_forgotten" THEN 0 ELSE clock[b] + Promise]
        /\ UNCHANGED <<now, clock, sent, answers, lease, moved, committed, asked, stale>>

Move ==
    \E b \in Backups :
        /\ b \notin moved
        /\ clock[b] >= promised[b] \/ Bug = "promise_broken"
        /\ moved' = moved \cup {b}
        /\ UNCHANGED <<now, clock, sent, answers, lease, promised, committed, asked, stale>>

Commit2 ==
    /\ moved = Backups
    /\ committed' = TRUE
    /\ UNCHANGED <<now, clock, sent, answers, lease, promised, moved, asked, stale>>

(* Two of three: A itself, and one backup that answered a heartbeat.          *)
HearAnswer ==
    \E beat \in answers :
        /\ answers' = answers \ {beat}
        /\ lease' = Max({lease,
            Lease + (IF Bug = "counted_from_answer" THEN clock["a"] ELSE beat)})
        /\ UNCHANGED <<now, clock, sent, promised, moved, committed, asked, stale>>

Ask ==
    /\ asked = "no"
    /\ asked' = IF committed THEN "after" ELSE "before"
    /\ UNCHANGED <<now, clock, sent, answers, lease, promised, moved, committed, stale>>

(* Q-5: the lease is looked at once the answer is there.                     *)
Answer ==
    /\ asked # "no"
    /\ clock["a"] < lease
    /\ stale' = (stale \/ asked = "after")
    /\ asked' = "no"
    /\ UNCHANGED <<now, clock, sent, answers, lease, promised, moved, committed>>

Next == Tick \/ Beat \/ Hear \/ HearAnswer \/ Restart \/ Move \/ Commit2 \/ Ask \/ Answer
Spec == Init /\ [][Next]_vars

(* J11: an answer knows of everything that was acknowledged before its question. *)
Fresh == ~stale
==============================================================================
