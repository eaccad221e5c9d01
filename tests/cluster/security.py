"""A topic behind TLS and passwords: certificates expire beneath those who write and follow it, passwords change."""

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from artifacts import Lacking
from brokers import PASSWORD, USER, Brokers
from control import Control
from ledger import ACKNOWLEDGED, UNKNOWN, Ledger, check_read, check_written, whole
from processes import HOST
from work import Following, Writer

from kcodec import KafkaError

#: What errors say of a certificate that has expired, and of a password that is not taken.
_EXPIRED, _REFUSED = "certificate has expired", "SASL_AUTHENTICATION_FAILED"
_NAMES = ("SSL_AUTHENTICATION_FAILED", "SASL_AUTHENTICATION_FAILED")
_KEYSTORE = "listener.name.secured.ssl.keystore.location"
_SECONDS = 90


class Certificates:
    """An authority's certificate, and keystores for a broker: a good one, and one that has expired."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            raise Lacking("no openssl on the PATH, which makes certificates")
        folder.mkdir()
        self.authority, signing = folder / "authority.pem", folder / "authority.key"
        new = ["req", "-newkey", "rsa:2048", "-nodes"]
        _openssl(*new, "-x509", "-days", 2, "-subj", "/CN=tests", "-out", self.authority, "-keyout", signing)
        asked, key = folder / "asked.csr", folder / "broker.key"
        names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=IP:{HOST}"]
        _openssl(*new, *names, "-out", asked, "-keyout", key)
        sign = [
            "x509",
            "-req",
            "-in",
            asked,
            "-copy_extensions",
            "copy",
            "-CA",
            self.authority,
            "-CAkey",
            signing,
        ]
        self.good, self.expired = folder / "good.pem", folder / "expired.pem"
        for store, days in ((self.good, 2), (self.expired, -1)):
            _openssl(*sign, "-days", days, "-out", store)
            store.write_text(key.read_text() + store.read_text())


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Returning(Following):
    """After an error of a certificate or a password, which it keeps, it follows on from where it stood."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.errors: list[KafkaError] = []

    def work(self) -> None:
        while True:
            try:
                super().work()
                return
            except KafkaError as error:
                self._note(error)
                self._return()

    def _return(self) -> None:
        while True:
            # Not at the moment at which it is refused.
            time.sleep(0.5)
            try:
                self.follower = self.follow(start=self.follower.positions)
                return
            except KafkaError as error:
                self._note(error)

    def _note(self, error: KafkaError) -> None:
        if error.name not in _NAMES:
            raise error
        self.errors.append(error)


class Secured:
    """The topic, who writes it and who follows it."""

    topic = "secured"

    def __init__(self, brokers: Brokers, control: Control, number: int, certificates: Certificates) -> None:
        self.brokers = brokers
        self.control = control
        self.certificates = certificates
        self.ledger = Ledger()
        #: Read anew by each call, and whenever the follower returns.
        self.config = {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(certificates.authority),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }
        control.create_everywhere(self.topic, 3, [each.proxy.to for each in brokers])
        address = brokers.secured_address
        self.writer = Writer(number, self.topic, address, self.ledger, pause=0.3, config=self.config)
        self.follower = Returning(self.topic, address, config=self.config)
        self.times = {_EXPIRED: 0, _REFUSED: 0}
        self.wrong: list[str] = []
        self._errors = 0

    def expire(self) -> None:
        """Have the leader of a partition, or all brokers, show a certificate that has expired; then a good one."""
        leader = self.control.partitions(self.topic, self.brokers[1].proxy.to)[0][0]
        numbers = self.writer.random.choice([[leader], [each.number for each in self.brokers]])

        def show(store: Path) -> None:
            for number in numbers:
                self.control.set_broker(number, _KEYSTORE, str(store))

        self._try(_EXPIRED, lambda: show(self.certificates.expired), lambda: show(self.certificates.good))

    def change_password(self) -> None:
        """Change the password; then clients get the new one, or it is the old one again."""
        old, new = self.config["sasl.password"], f"password {time.monotonic_ns()}"
        is_kept = self.writer.random.random() < 0.5

        def mend() -> None:
            self.config["sasl.password"] = new if is_kept else old
            # Again, as a change that was told to fail may have been made.
            self.control.set_password(USER, self.config["sasl.password"])

        self._try(_REFUSED, lambda: self.control.set_password(USER, new), mend)

    def _try(self, text: str, spoil: Callable[[], None], mend: Callable[[], None]) -> None:
        """Cut connections off that cannot be made anew, until both clients have failed; then see that they go on."""
        calls, errors = len(self.ledger.calls), len(self.follower.errors)
        if errors > self._errors:
            found = self.follower.errors[self._errors :]
            self.wrong.append(f"{self.topic}: refused while all was well: {found}")

        def told() -> tuple[list[str], list[str]]:
            failed = [call.error for call in self.ledger.calls[calls:] if call.outcome == UNKNOWN]
            return failed, [str(error) for error in self.follower.errors[errors:]]

        try:
            spoil()
            self._until(lambda: self._cut() or all(told()), f"{text}: writer and follower do not both fail")
        finally:
            self._mend(mend)
            at = len(self.ledger.calls)
            self._until(lambda: self._goes_on(at), f"{text}: writer and follower do not go on")
            self._errors = len(self.follower.errors)
        self.wrong += [
            f"{self.topic}: not {text}, but {error}" for each in told() for error in each if text not in error
        ]
        self.times[text] += 1

    def _mend(self, mend: Callable[[], None]) -> None:
        """Put it right, whatever time that takes: all that comes later is for clients that can connect."""
        end = time.monotonic() + _SECONDS
        while True:
            try:
                mend()
                return
            except Exception as error:
                if time.monotonic() > end:
                    self.wrong.append(f"{self.topic}: it is not put right: {error!r}")
                    return

    def _cut(self) -> None:
        for each in self.brokers:
            each.secured.cut()
        # Some broker may have let them in again, which had not heard of it.
        time.sleep(1)

    def _goes_on(self, at: int) -> bool:
        """Return whether a call behind so many others is acknowledged, and the follower has its records."""
        time.sleep(0.2)
        ends = [call.end for call in self.ledger.calls[at:] if call.outcome == ACKNOWLEDGED]
        batches = self.follower.batches
        return bool(ends and batches) and int(self.follower.rows(self.topic).value.max()) >= ends[0] - 1

    def _until(self, holds: Callable[[], bool], wrong: str) -> None:
        end = time.monotonic() + _SECONDS
        while not holds():
            if time.monotonic() > end:
                self.wrong.append(f"{self.topic}: {wrong}, in {_SECONDS} s")
                return

    def check(self) -> list[str]:
        log = whole(self.brokers.address, self.topic, "read_committed")
        wrong = self.wrong + check_written(self.ledger.of(self.topic), log)
        start = {int(number): 0 for number in np.unique(log.partition)}
        return wrong + check_read(
            self.follower.name, self.follower.rows(self.topic), log, start, dict.fromkeys(start, 1 << 62)
        )
