"""Who may do what: tokens with roles and feeds, limits of a client, names of the host.

Always holds: what a client may not see looks as if it were not there (404); a token is compared in
constant time, and is never in a URL, a cookie or a log.
"""
