"""What both sides of the wire agree on: words, shapes, limits and problem codes.

Pure: nothing here reads a clock, a file or a random source. The SDK sends these shapes, the
controller answers with them, and an embedded client passes them by reference.

    limits        every bound that both sides must know
    identifiers   names and ids, and what they may look like
    canonical     strict JSON in, canonical JSON out
    capabilities  what a tool declares about its destination, and the guarantee that follows
    definitions   the immutable description of a workflow's operations
    receipts      what a tool reports
    decisions     the controller's answer to "may I run this?"
    messages      bodies of requests and replies
    problems      refusals: one code each, one error class per reaction
    codec         bytes to shapes and back
"""
