"""The pipeline without effects: traces and cases are judged, nothing is recorded or executed."""
