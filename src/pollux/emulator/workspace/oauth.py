"""The token and revoke endpoints: forms in, JSON out."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from pollux.emulator.workspace.grants import Grants
from pollux.emulator.workspace.refusal import OAuthRefusal
from pollux.emulator.workspace.scopes import LONG


def token(form: Mapping[str, str], authorization: str, grants: Grants) -> dict[str, Any]:
    """Answer a token request. Raises OAuthRefusal."""
    client = _client(form, authorization)
    match form.get("grant_type", ""):
        case "authorization_code":
            return grants.exchange(
                _wanted(form, "code"),
                client=client,
                redirect=_wanted(form, "redirect_uri"),
                verifier=form.get("code_verifier", ""),
            )
        case "refresh_token":
            scopes = frozenset(LONG.get(scope, scope) for scope in form.get("scope", "").split())
            return grants.refresh(_wanted(form, "refresh_token"), client=client, scopes=scopes)
        case "":
            raise OAuthRefusal(400, "invalid_request", "Required parameter is missing: grant_type")
        case other:
            raise OAuthRefusal(400, "unsupported_grant_type", f"Invalid grant_type: {other}")


def revoke(form: Mapping[str, str], grants: Grants) -> dict[str, Any]:
    """Answer a revoke request. Raises OAuthRefusal."""
    grants.revoke(_wanted(form, "token"))
    return {}


def of_fault(kind: str) -> OAuthRefusal:
    """What a fault that is a status says here."""
    match kind:
        case "400":
            return OAuthRefusal(400, "invalid_grant", "Bad Request")
        case "401":
            return OAuthRefusal(401, "invalid_client", "Unauthorized")
        case "403" | "403-rate":
            return OAuthRefusal(403, "rate_limit_exceeded", "Rate Limit Exceeded")
        case "429":
            return OAuthRefusal(429, "rate_limit_exceeded", "Rate Limit Exceeded")
        case "invalid-grant":
            return OAuthRefusal(400, "invalid_grant", "Token has been expired or revoked.")
        case _:
            return OAuthRefusal(int(kind), "internal_failure", "Internal failure, try again.")


def _client(form: Mapping[str, str], authorization: str) -> str:
    client, secret = _basic(authorization) or (form.get("client_id", ""), form.get("client_secret", ""))
    if not client:
        raise OAuthRefusal(400, "invalid_request", "Could not determine client ID from request.")
    if client.startswith("invalid"):
        raise OAuthRefusal(401, "invalid_client", "The OAuth client was not found.")
    if not secret:
        raise OAuthRefusal(400, "invalid_request", "client_secret is missing.")
    if secret.startswith("invalid"):
        raise OAuthRefusal(401, "invalid_client", "The provided client secret is invalid.")
    return client


def _basic(authorization: str) -> tuple[str, str] | None:
    scheme, _, coded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        client, _, secret = base64.b64decode(coded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return unquote(client), unquote(secret)


def _wanted(form: Mapping[str, str], name: str) -> str:
    if not form.get(name):
        raise OAuthRefusal(400, "invalid_request", f"Missing required parameter: {name}")
    return form[name]
