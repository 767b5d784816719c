"""What a trial is made of, one module a step; `engine` and `platforms` know nothing of Prefect."""
