"""The settings: environment (`ARCHIVIST_*`) over one TOML file over defaults, read once and frozen."""

import os
import sys
import tomllib
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from archivist.domain.errors import Refused

PREFIX = "ARCHIVIST_"
FILE = "archivist.toml"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def default_data() -> Path:
    """The platform's folder for the data of one user."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "archivist"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "archivist"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "archivist"


class Settings(BaseModel):
    """Everything an owner can set. The TOML file and the environment use the same names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: Path = Field(default_factory=default_data, description="the folder that holds everything")
    mirror: str = Field(default="mirror", description="the folder of the mirror, inside DATA unless absolute; or none")
    host: str = Field(default="127.0.0.1", description="the address to listen on")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(default=8765, description="the port; 0 takes a free one")
    public_url: str = Field(
        default="", description="the address that clients use, without a path, such as https://host"
    )
    allow_plain_http: bool = Field(default=False, description="listen beyond this computer without https")
    allowed_origins: tuple[str, ...] = Field(default=(), description="web origins whose scripts may call /mcp")
    registration: bool = Field(default=True, description="whether apps may register themselves")
    client_documents: bool = Field(default=True, description="whether apps may be known by an address that is fetched")
    document_hosts: tuple[str, ...] = Field(default=(), description="the only hosts of such addresses; empty: any")
    denied_hosts: tuple[str, ...] = Field(default=(), description="hosts of such addresses that are refused")
    app_schemes: tuple[str, ...] = Field(default=(), description="schemes without a dot that apps may return to")
    require_resource: bool = Field(default=False, description="refuse apps that do not say which address they want")
    step_up: Literal["auto", "http", "result"] = Field(
        default="auto",
        description="how apps are asked for more rights: auto, http (status 403), or result",
    )
    trusted_proxies: tuple[str, ...] = Field(default=(), description="proxies whose X-Forwarded-For is believed")
    provider: str = Field(default="", description="the issuer of an OpenID provider that people may sign in with")
    provider_name: str = Field(default="", description="what its button is called")
    provider_client: str = Field(default="", description="the client id there")
    provider_secret: str = Field(default="", description="its secret", repr=False)
    embedder: str = Field(default="builtin", description="builtin, none, or the address of an OpenAI-compatible server")
    embedder_model: str = Field(default="", description="the model's name there")
    embedder_key: str = Field(default="", description="its key, if it wants one", repr=False)
    reflect_key: str = Field(default="", description="the key of the model that `reflect` asks", repr=False)
    models: Path | None = Field(default=None, description="where the prepared model is kept; default DATA/models")
    threads: Annotated[int, Field(ge=0, le=64)] = Field(default=0, description="for the built-in model; 0 chooses")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="what is logged")

    @field_validator("data")
    @classmethod
    def _absolute(cls, data: Path) -> Path:
        return data.expanduser().absolute()

    @field_validator("public_url")
    @classmethod
    def _origin(cls, url: str) -> str:
        """Scheme and host only, in lower case, without a slash at the end: it is compared byte by byte."""
        if not url:
            return url
        parts = urlsplit(url)
        local = parts.hostname in LOOPBACK
        more = parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc
        if parts.scheme not in ("https", "http") or not parts.hostname or more or not _is_port(parts):
            raise ValueError("must be scheme and host only, such as https://memory.example.org")
        if parts.scheme == "http" and not local:
            raise ValueError("must begin with https:// unless it names this computer")
        return f"{parts.scheme}://{parts.netloc.lower()}"

    @field_validator("provider")
    @classmethod
    def _issuer(cls, issuer: str) -> str:
        """An https address, or one on this computer; compared byte by byte with what the provider says."""
        parts = urlsplit(issuer)
        if issuer and not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)):
            raise ValueError("must begin with https:// unless it names this computer")
        return issuer

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError:
                raise ValueError("must be IP addresses or networks, such as 10.0.0.1 or 10.0.0.0/8") from None
        return proxies

    @property
    def mirror_folder(self) -> Path | None:
        """Where the mirror lies; None if there is to be none."""
        return None if self.mirror == "none" else self.data / Path(self.mirror).expanduser()

    @property
    def origin(self) -> str:
        """The one address of this server, the issuer of its tokens: scheme and host, without a slash at the end."""
        if self.public_url:
            return self.public_url
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104 — asks, does not listen
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def origins(self) -> frozenset[str]:
        """Every spelling of it that clients on this computer may use."""
        if self.public_url or self.host not in LOOPBACK:
            return frozenset({self.origin})
        return frozenset(f"http://{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")) | {self.origin}

    @field_validator("embedder")
    @classmethod
    def _known(cls, embedder: str) -> str:
        if embedder not in ("builtin", "none") and not embedder.startswith(("http://", "https://")):
            raise ValueError("must be builtin, none, or an address that begins with http:// or https://")
        return embedder


def load(environment: Mapping[str, str], **given: object) -> Settings:
    """The settings of this start. What the command line gave wins; None there means not given.

    Raises:
        Refused: an unknown name, or a value outside its range; one line that names it.
    """
    named = {name: value for name, value in given.items() if value is not None}
    from_environment = _from_environment(environment)
    data = named.get("data") or from_environment.get("data") or default_data()
    try:
        return Settings.model_validate({**_from_file(Path(str(data)).expanduser() / FILE), **from_environment, **named})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        rule = "is not a setting" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        raise Refused(f"setting {name}: {rule}. See the table of settings in README.md") from None


def _is_port(parts: SplitResult) -> bool:
    """Whether what stands where a port may stand is one, or nothing does."""
    try:
        return parts.port != 0
    except ValueError:
        return False


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in environment.items():
        if not name.startswith(PREFIX):
            continue
        field = name.removeprefix(PREFIX).lower()
        if field not in Settings.model_fields:
            known = ", ".join(PREFIX + known.upper() for known in Settings.model_fields)
            raise Refused(f"{name} is not a setting, so nothing would obey it; unset it or use one of: {known}")
        if value:
            found[field] = tuple(value.replace(",", " ").split()) if _is_list(field) else value
    return found


def _is_list(field: str) -> bool:
    return isinstance(Settings.model_fields[field].default, tuple)


def _from_file(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Refused(f"{path} cannot be read as TOML ({type(error).__name__}); mend or remove it") from None
