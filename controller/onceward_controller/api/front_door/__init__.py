"""What a request must pass before any framework sees it; each rule in a module of its own.

    door            the order of it all
    envelope        method, path, query, headers, host: refused by looking
    body            how much may come, counted as it comes
    reply_headers   what every reply says to browsers and caches
    replies         a refusal as bytes
    request_ids     the name of a request, in its reply and in our logs

Nothing here knows what the controller does.
"""
