"""Whether a store keeps the promises that everything rests on."""

from onceward_controller.vault.probe.examination import Finding, ProbeReport, examine, probe

__all__ = ["Finding", "ProbeReport", "examine", "probe"]
