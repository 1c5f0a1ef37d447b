"""Rules, fixtures, truth and torch's reference in; the pages that people read out."""
