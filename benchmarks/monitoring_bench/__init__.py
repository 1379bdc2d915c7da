"""Parts of the benchmark of monitors: streams, rivals, and one module per question."""
