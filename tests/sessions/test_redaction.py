"""What is replaced, what never is, and by what."""

import random
import re
import string
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.sessions.redaction import RedactionOptions, Redactor
from assay.sessions.redaction.finder import MARKER
from tests.sessions.redaction_secrets import PLACES, SHAPES, Secret, drawn, made, placed, secrets
from tests.tables import each_row

PLANTED = list(secrets(20261))
NOTHING_ELSE = RedactionOptions()
EVERYTHING = RedactionOptions(email=True, home=True, hosts=True)
PIECE = 10
QUICK = settings(max_examples=150, deadline=None)


def clean(text: str, options: RedactionOptions = NOTHING_ELSE) -> str:
    return Redactor(options).text(text)


def random_text(letters: str, size: int, seed: int = 1) -> str:
    return drawn(letters, size, random.Random(seed))


def left(value: str, text: str) -> list[str]:
    """Pieces of a secret that are still there; what every such key begins and ends with is no secret."""
    pieces = [value[at : at + PIECE] for at in range(max(1, len(value) - PIECE + 1))]
    return [one for one in pieces if one in text and "\\" not in one and "---" not in one and "PRIVATE" not in one]


# --- what is found ----------------------------------------------------------------------------


@each_row("secret", PLANTED, ids=[f"{one.kind}-{n}" for n, one in enumerate(PLANTED)])
def test_a_secret_of_any_kind_is_replaced_wherever_it_stands(secret: Secret):
    for place, text, value in placed(secret):
        redactor = Redactor()
        found = redactor.text(text)
        assert f"[redacted:{secret.kind}]" in found, (place, text, found)
        assert not left(value, found), (place, found)


def test_hardly_any_random_value_is_taken_for_words():
    values = [one for seed in range(12) for one in secrets(seed)]
    missed = Counter(one.kind for one in values if f"[redacted:{one.kind}" not in clean(one.text))
    assert missed.total() <= len(values) / 1000, missed


def test_there_are_more_than_sixty_kinds():
    assert len(SHAPES) > 150


@each_row(
    ("given", "wanted"),
    [
        ("API_KEY={an32}\nNEXT=1", "API_KEY=[redacted:generic-secret]\nNEXT=1"),
        ("postgres://app:{an16}@db/app", "postgres://app:[redacted:database-password]@db/app"),
        ("+export ACME_TOKEN='{an32}'", "+export ACME_TOKEN='[redacted:generic-secret]'"),
        ("使用{an32}", "使用{an32}"),
        ("token={an32}，然后", "token=[redacted:generic-secret]，然后"),
        ('{{"password": "{an14}", "port": 1}}', '{{"password": "[redacted:password]", "port": 1}}'),
        ("curl -u me:{an12} https://acme.io", "curl -u me:[redacted:command-password] https://acme.io"),
        ("Authorization: Bearer {an40}", "Authorization: Bearer [redacted:authorization-header]"),
        ("https://hooks.slack.com/services/T{UP8}/B{UP8}/{an24}", "https://hooks.slack.com/services/[redacted:slack-webhook]"),
        ("SECRET=a${{X}}", "SECRET=a${{X}}"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted:password]"),
        ("mysql -uroot -proot123 db", "mysql -uroot -p[redacted:command-password] db"),
        ('secret: "token={an32}"', 'secret: "[redacted:generic-secret]"'),
        ("PASSWORD=${{P:-Aa1!{an12}}}", "PASSWORD=${{P:-Aa1!{an12}}}"),
    ],
)  # fmt: skip
def test_only_the_value_is_replaced(given: str, wanted: str):
    parts = {
        name: random_text(name[:2], int(name[2:])) for name in ("an32", "an16", "an14", "an12", "an40", "an24", "UP8")
    }
    assert clean(given.format(**parts)) == wanted.format(**parts)


def test_a_value_that_was_given_away_is_replaced_without_its_name_too():
    value = random_text("an", 32)
    redactor = Redactor()
    assert redactor.text(f"ACME_TOKEN={value}") == "ACME_TOKEN=[redacted:generic-secret]"
    assert redactor.text(f"it printed {value}!") == "it printed [redacted:generic-secret]!"
    assert redactor.found == {"generic-secret": 2}


# --- what never is ----------------------------------------------------------------------------

HEX40, HEX64, HEX128 = (random_text("hx", size) for size in (40, 64, 128))
IMAGE = random_text("b6", 4000)
NEVER = f"""
commit {HEX40}
Merge: {HEX40[:9]} {HEX40[9:18]}
index {HEX40[:7]}..{HEX40[7:14]} 100644
[main {HEX40[:7]}] Add token refresh
id: {random_text("uuid", 0)}
session_id={random_text("uuid", 0)}
"token": "{random_text("uuid", 0)}"
sha256:{HEX64}
{HEX64}  dist/app.tar.gz
SHA512 ({HEX128}) = app.iso
"integrity": "sha512-{random_text("b6", 86)}=="
"resolved": "https://registry.acme.io/left-pad/-/left-pad-1.3.0.tgz#{HEX40}"
checksum = "{HEX64}"
github.com/acme/token v1.2.3 h1:{random_text("b6", 43)}=
    {{file = "secretlib-1.0.tar.gz", hash = "sha256:{HEX64}"}},
![x](data:image/png;base64,{IMAGE})
"data": "{IMAGE}"
"signature": "{IMAGE}"
ssh-ed25519 {random_text("b6", 68)} me@host
-----BEGIN CERTIFICATE-----\n{random_text("b6", 64)}\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\n{random_text("b6", 64)}\n-----END PUBLIC KEY-----
if "-----BEGIN RSA PRIVATE KEY-----" in text and "-----END RSA PRIVATE KEY-----" in text:
API_KEY=<your-key>
API_KEY=your-api-key-here
API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx
API_KEY="sk-..."
PASSWORD=changeme
password: "********"
token: $GITHUB_TOKEN
token: ${{{{ secrets.GITHUB_TOKEN }}}}
TOKEN="${{GITHUB_TOKEN}}"
apiKey: process.env.ACME_API_KEY2,
api_key = os.environ["ACME_API_KEY_V2"]
api_key=os.getenv("ACME_API_KEY_V2"),
secret = "example-secret-value-1234"
token = get_token_v2(client, 10)
password = password.encode("latin1")
let token = refresh.join2().await?;
password: Option<String>,
password: str = Field(min_length=8)
token: Token2Factory
private_key: ed25519.Ed25519PrivateKey,
fn token(&self) -> Token
const tokens = tokenizer.encode(text1)
max_tokens: 128000
"total_tokens": 48213, "cache_read_input_tokens": 1048576
next_page_token=Q2FuIHlvdSByZWFkIHRoaXM0Cg
tokenizer = "cl100k_base_v2"
primary_key = "orders_customer_id_2024"
SECRET_NAME=projects/acme/secrets/db-1
TOKEN_URL=https://auth.acme.io/oauth2/v2/token
passwordHash: "$2b$10$abc"
test providers::proton_pass::tests::test_value_to_reference_2 ... ok
docs/providers/1password.md:141:Add references
The token is refreshed after 3600 seconds
the secret: simplicity2
use --token to pass it, or --password-stdin
docker run -u 1000:1000 --user app:staff acme
ssh://git@github.com/acme/app.git
http://localhost:8080/a@b
postgres://user:password@localhost/db
postgres://${{DB_USER}}:${{DB_PASS}}@db/app
gpt-4o-2024-08-06 claude-sonnet-4-5-20250929
skip-this-task-then-ask-for-the-next-one-please
__pycache__/test_auth.cpython-311-pytest-8.3.4.pyc
AbstractSingletonProxyFactoryBeanTokenProviderV2
Cookie: theme=dark; lang=en; consent=all-of-them-1
Set-Cookie: locale=en-US; Path=/
Cookie:\n  theme=dark; lang=en
basic instructions and basic functionality
password = os.environ["X"]
password: str
password=<your password>
PASSWORD=$PASSWORD
PASSWORD=${{{{ secrets.PASSWORD }}}} make deploy
export PASSWORD="$(pass show acme)"
docker run -e API_TOKEN -e DB_PASSWORD=$DB_PASSWORD acme
$env:TOKEN = $env:GITHUB_TOKEN
$env:TOKEN = "$secret"
"password": null
"password": "string"
"apiKey": "required"
password is wrong
the password is required
the password is not set, and a password is hashed with sha256 or bcrypt2
the password is base64 encoded and the passphrase is utf8
the password is at least 8 characters, password must have 12
the password form2 and the password step3 of the password reset
my password's length, my password's sha512
el mot de passe est obligatoire, la contraseña es incorrecta, das Passwort ist falsch
пароль не подходит, 密码是必填项, パスワードは必須です, 비밀번호는 필수입니다
PIN: 13
PIN is 2 of 4
set -euo pipefail
ENV NODE_ENV production
ENV TOKEN_URL https://auth.acme.io/v2/token
setx PATH "C:/tools"
API_KEY=settings.API_KEY_V2
SECRET=test
ACCESS_TOKEN=test-token-1
MAX_TOKENS=4096
TOKENIZERS_PARALLELISM=false
TOKEN_COUNT=128k
Set-Cookie: session=; Max-Age=0; Path=/
curl -b cookies.txt https://acme.io
"X-Api-Key": apiKey,
X-Auth-Token: $TOKEN
https://acme.io/list?page_token=abc123def456&size=2
https://acme.io/?token=<token>&x=1
https%3A%2F%2Facme.io%3A8080%2Fa%40b
git log --author=user%40acme.io
zip -r a.zip dir && unzip -p a.zip
mysql -p shop && mongosh -p && docker run -p 8080:80 acme
log in as admin and look, credentials: see the wiki/login2
data:\n  replicas: 12345678\nkind: ConfigMap
[redacted:github-token] and [redacted:github-token-2]
API_KEY=[redacted:generic-secret]
"password": "[redacted:password-2]"
postgres://app:[redacted:database-password]@db/app
""".strip().split("\n")


@each_row("line", [line.replace("\\n", "\n") for line in NEVER])
def test_what_is_no_secret_stays(line: str):
    assert clean(line) == line


def test_all_of_it_stays_when_it_is_one_text():
    text = "\n".join(NEVER)
    assert clean(text) == text


# --- markers ----------------------------------------------------------------------------------


def test_the_same_value_has_the_same_marker_and_another_one_the_next_number():
    one, two = made("x", "ghp_<an36>", random.Random(1)).text, made("x", "ghp_<an36>", random.Random(2)).text
    redactor = Redactor()
    assert redactor.text(f"{one} {two} {one}") == (
        "[redacted:github-token] [redacted:github-token-2] [redacted:github-token]"
    )
    assert redactor.text(f"again {two}") == "again [redacted:github-token-2]"
    assert redactor.found == {"github-token": 4}


def test_two_redactors_know_nothing_of_each_other():
    one, two = made("x", "ghp_<an36>", random.Random(1)).text, made("x", "ghp_<an36>", random.Random(2)).text
    assert Redactor().text(one) == Redactor().text(two) == "[redacted:github-token]"


def test_a_fake_marker_inside_a_secret_hides_none_of_it():
    value = random_text("an", 32)
    found = clean(f'API_KEY="[redacted:x]{value}"')
    assert found == 'API_KEY="[redacted:x][redacted:generic-secret]"'


def test_a_kind_never_ends_in_a_number_as_a_second_marker_does():
    assert not [kind for kind in SHAPES if kind[-1].isdigit()]


words = st.sampled_from(
    ["token", "=", ": ", '"', "'", "password", "\\n", "\\", "://", "@", "a:b", "[redacted:x]", "[redacted:", "]", "$"]
    + ["kind: Secret\n", "data:\n", "  key: ", "-----BEGIN RSA PRIVATE KEY-----", "\n", " ", "密码", "\ud800", "\x00"]
    + [one.text for one in PLANTED[::5]]
    + [one.value for one in PLANTED[::7]]
    + [random_text("an", 20), random_text("hx", 40), "Xk29!qpz", "-u ", "curl", "sk-", "eyJ", "/home/", "1.2.3.4"]
)


@QUICK
@given(st.lists(words, max_size=12).map("".join))
def test_what_is_clean_stays_as_it_is(text: str):
    for options in (RedactionOptions(), EVERYTHING):
        once = clean(text, options)
        assert clean(once, options) == once


@QUICK
@given(st.text(max_size=60) | st.text(string.printable, max_size=200), st.sampled_from(PLANTED))
def test_any_text_around_a_secret_comes_out_as_it_was(text: str, secret: Secret):
    found = clean(f"{text}\n\n\0\n\n{secret.text}\n")
    assert found.startswith(clean(text + "\n\n"))
    assert not left(secret.value, found.split("\0")[-1])


@QUICK
@given(st.text(st.characters(codec=None), max_size=80))
def test_no_text_is_too_odd(text: str):
    assert clean(text, EVERYTHING) is not None


def test_half_a_surrogate_pair_comes_out_again():
    secret = PLANTED[0].text
    assert clean(f"\ud83d {secret} \udc00\ud800") == "\ud83d [redacted:private-key] \udc00\ud800"


# --- options ----------------------------------------------------------------------------------


@each_row(
    ("option", "given", "wanted"),
    [
        ("email", "ask ann.lee+x@acme.io or bob@acme.io", "ask [redacted:email] or [redacted:email-2]"),
        ("email", "git@github.com bob@example.com a@b icon@2x.png", "git@github.com bob@example.com a@b icon@2x.png"),
        ("email", r"by:\nann@acme.io\n", r"by:\n[redacted:email]\n"),
        ("home", "/home/ann/app/x.py /Users/bob/y", "/home/[redacted:home]/app/x.py /Users/[redacted:home-2]/y"),
        ("home", r"C:\Users\ann\app C:\\Users\\ann\\x", r"C:\Users\[redacted:home]\app C:\\Users\\[redacted:home]\\x"),
        ("home", "~/.claude/projects/-Users-ann-app/x.jsonl", "~/.claude/projects/-Users-[redacted:home]-app/x.jsonl"),
        ("home", "/home/user/x /home/runner/work /home/$USER/", "/home/user/x /home/runner/work /home/$USER/"),
        ("hosts", "https://git.acme.io:8443/x?y=1", "https://[redacted:host]:8443/x?y=1"),
        ("hosts", "ssh root@build7; ping 10.4.5.6 x@4.1.2", "ssh root@[redacted:host]; ping [redacted:host-2] x@4.1.2"),
        ("hosts", "db.prod.internal is up, acme.com.", "[redacted:host] is up, [redacted:host-2]."),
        ("hosts", "to fe80::1ff:fe23:4567:890a now", "to [redacted:host] now"),
        ("hosts", "http://localhost:3000 127.0.0.1 0.0.0.0 ::1", "http://localhost:3000 127.0.0.1 0.0.0.0 ::1"),
        ("hosts", "https://example.com api.example.org x.test", "https://example.com api.example.org x.test"),
        ("hosts", "std::string 1.2.3 v1.2.3.4 main.py self.io()", "std::string 1.2.3 v1.2.3.4 main.py self.io()"),
    ],
)
def test_people_and_places_are_replaced_when_asked_for(option: str, given: str, wanted: str):
    assert clean(given) == given
    assert clean(given, RedactionOptions(**{option: True})) == wanted


# --- hostile ----------------------------------------------------------------------------------

BAITS = [
    "a", "token=", "TOKEN=a", "secret", "secret: ", "eyJ", "://a@", "@", "a@a.", "[redacted:",
    "kind: Secret\ndata:\n  a: b\n", "Q~", "-us", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIE",
    'password: "',     "cookie: a=b;", '\\"token\\": \\"', "密码=", "1.1.", "::", "mysql -p", "data:\n  a: ",
]  # fmt: skip


@pytest.mark.long
@each_row("bait", BAITS)
def test_no_text_makes_it_slow(bait: str):
    import time

    size = 400_000
    began = time.process_time()
    clean((bait * size)[:size], EVERYTHING)
    assert time.process_time() - began < 6  # a second or so; a rule that backtracks takes minutes


def test_a_line_of_ten_megabytes_is_read_to_its_end():
    secret = made("x", "ghp_<an36>", random.Random(1)).text
    found = clean("a " * 5_000_000 + secret)
    assert found.endswith("a [redacted:github-token]")
    assert found.count("a ") == 5_000_000


def test_markers_are_what_is_said_of_them():
    found = {marker for one in PLANTED for marker in re.findall(r"\[redacted[^\]]*\]", clean(one.text))}
    assert found
    assert all(MARKER.fullmatch(one.encode()) for one in found)


def test_places_differ():
    assert len(PLACES) > 10
