"""What Triton's compiler and its launches refuse, said before they are asked."""
