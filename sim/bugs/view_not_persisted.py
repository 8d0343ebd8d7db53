DESCRIPTION = "A replica leads its next view before that is on disk."
MODULE = "fusee.embed.assembly"
FRAGMENT = """\
    log.save_superblock(
        msgspec.structs.replace(superblock, view=state.view, log_view=state.log_view, vouch=vouch)
    )
"""
INSTEAD = """\
    log.save_superblock(msgspec.structs.replace(superblock, vouch=vouch))
"""
LEVEL = "full"
SCENARIO = "every_life_leads_a_view_of_its_own"
