"""What a fit is worth: structure, stability, memberships, strangers and sizes of clusters."""
