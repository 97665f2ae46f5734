"""What these tests share are modules of this folder: tables of tasks, surveys without a judge, child processes."""
