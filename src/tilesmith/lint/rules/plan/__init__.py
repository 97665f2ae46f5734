"""Was the plan carried out: the loop through time on the device, the work spread out, the tensor cores used?"""
