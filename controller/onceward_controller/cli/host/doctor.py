"""``onceward doctor``: is this host and its store fit to decide on leases?"""

from onceward.exit_codes import ExitCode
from onceward_controller.cli.host import place
from onceward_controller.cli.invocation import Invocation, shared
from onceward_controller.cli.refusal import Ended


@shared
def doctor(
    invocation: Invocation,
    *,
    store: place.StoreOption = None,
    key_file: place.KeyFile = None,
    endpoint_url: place.EndpointUrl = None,
) -> None:
    """Examine store, clock, key file, disk and packages. Exit code 1 when something is wrong."""
    if invocation.vault is not None and store is None:
        store = str(invocation.vault)
    where = place.settings(store, key_file, endpoint_url)
    from onceward_controller.cli.host import examination

    invocation.output.detail(f"examining the store: {place.name_of(where)}")
    report = examination.examine(where)

    def drawing() -> object:
        from onceward_controller.cli.terminal import sheet

        return sheet.table(
            ("", "what", "seen"),
            [
                (
                    sheet.text("ok") if finding.ok else sheet.text("WRONG", sheet.ALARM),
                    finding.name,
                    finding.seen,
                )
                for finding in report.findings
            ],
            keep=2,
        )

    invocation.output.data(report, drawing)
    wrong = [finding for finding in report.findings if not finding.ok]
    for finding in wrong:
        invocation.output.error(f"onceward: {finding.name}: {finding.seen}\n  next: {finding.fix}")
    if wrong:
        raise Ended(ExitCode.FAILED)
    invocation.output.note("nothing is wrong")
