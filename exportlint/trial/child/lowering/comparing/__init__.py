"""What an artefact gave in; whether and why it differs from eager, and at which line, out."""
