"""What the parent and its children share: channel, protocol, fork server, sandbox. No torch here."""
