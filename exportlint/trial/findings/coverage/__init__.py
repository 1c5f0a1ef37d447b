"""The lines that eager ran in, regions of the model that no sample ran out: as notes, and shown in the source."""
