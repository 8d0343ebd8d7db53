----------------------------- MODULE OutputRule -----------------------------
(* Nothing is told to the outside before it can never be taken back.        *)
(*                                                                          *)
(* One node: a log in memory of which the disk holds a prefix, outputs that *)
(* wait for what they rest on, and a world that forgets nothing. An output  *)
(* is an acknowledgement, a result, a step that starts, or a refusal: each  *)
(* rests on all that was appended when it was made.                         *)
EXTENDS Naturals, Sequences

CONSTANTS LogMax,   \* the longest log
          LivesMax, \* processes that follow each other
          Bug       \* the guard that is taken away, "none" for none

VARIABLES log,      \* what the process believes: the life that appended each batch
          disk,     \* so many batches are durable
          durable,  \* so many batches the process believes to be durable
          waiting,  \* outputs at the gate: kind, and how much they rest on
          world,    \* what was told: the logs that outputs rested on
          life,
          stopped

vars == <<log, disk, durable, waiting, world, life, stopped>>

Kinds == {"answer", "refusal"}
Prefix(n) == SubSeq(log, 1, n)

Init ==
    /\ log = <<>> /\ disk = 0 /\ durable = 0
    /\ waiting = {} /\ world = {} /\ life = 1 /\ stopped = FALSE

AppendBatch ==
    /\ ~stopped /\ Len(log) < LogMax
    /\ log' = Append(log, life)
    /\ UNCHANGED <<disk, durable, waiting, world, life, stopped>>

MakeOutput ==
    /\ ~stopped
    /\ \E kind \in Kinds : waiting' = waiting \cup {<<kind, Len(log)>>}
    /\ UNCHANGED <<log, disk, durable, world, life, stopped>>

WriteDone ==
    /\ ~stopped
    /\ \E n \in (durable + 1)..Len(log) : disk' = n /\ durable' = n
    /\ UNCHANGED <<log, waiting, world, life, stopped>>

(* Nobody knows what a failed write left, so there is no second one (S-8).  *)
WriteFails ==
    /\ ~stopped /\ durable < Len(log)
    /\ IF Bug = "write_retried"
       THEN durable' = Len(log) /\ UNCHANGED <<waiting, stopped>>
       ELSE stopped' = TRUE /\ waiting' = {} /\ UNCHANGED durable
    /\ UNCHANGED <<log, disk, world, life>>

MayLeave(output) ==
    \/ output[2] <= durable
    \/ Bug = "no_gate"
    \/ Bug = "refusal_early" /\ output[1] = "refusal"
    \/ Bug = "one_too_early" /\ output[2] <= durable + 1

Release ==
    /\ ~stopped
    /\ \E output \in waiting :
        /\ MayLeave(output)
        /\ waiting' = waiting \ {output}
        /\ world' = world \cup {Prefix(output[2])}
    /\ UNCHANGED <<log, disk, durable, life, stopped>>

(* What was not durable may have landed all the same.                       *)
Crash ==
    /\ life < LivesMax
    /\ \E n \in disk..Len(log) : log' = Prefix(n) /\ disk' = n /\ durable' = n
    /\ waiting' = {} /\ life' = life + 1 /\ stopped' = FALSE
    /\ UNCHANGED world

Next == AppendBatch \/ MakeOutput \/ WriteDone \/ WriteFails \/ Release \/ Crash
Spec == Init /\ [][Next]_vars

(* J2: what the world was told still holds.                                 *)
Told == \A known \in world : Len(known) <= Len(log) /\ Prefix(Len(known)) = known
=============================================================================
