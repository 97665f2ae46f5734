"""What keeps a candidate honest inside its own process.

Nothing here is believed by the parent as it stands: values are compared elsewhere. It makes cheating visible and
says what was done, and the sandbox makes what it missed harmless.
"""
