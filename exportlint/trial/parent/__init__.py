"""The processes of a trial from outside: requests and limits in, results out. No torch here."""
