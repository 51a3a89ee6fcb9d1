"""Questions asked of many runs: is the clock honest, how fast is it, what does a knob buy?"""
