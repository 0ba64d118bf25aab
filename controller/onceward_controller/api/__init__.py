"""The HTTP face of the service.

    connection   connections     size and time of a request's head; garbage
    front door   front_door/     size, shape and time of a request; headers of every reply
    Litestar     application     routes: attempts, credentials, health, payloads, workflows
                 asking          who asks, and whether their role may, before any body is read
                 json_body       a body as its shape, strictly
                 refusals        every exception as ``application/problem+json``

A handler is one call of the service. It blocks, and so runs on a thread of a sized pool.
"""
