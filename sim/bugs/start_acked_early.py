DESCRIPTION = "A start is acknowledged when it is appended."
MODULE = "fusee.embed.client"
FRAGMENT = """\
        if is_acknowledged:
            await self.committed(admitted.ticket)
"""
INSTEAD = ""
LEVEL = "full"
SCENARIO = "outputs_wait_for_the_disk"
