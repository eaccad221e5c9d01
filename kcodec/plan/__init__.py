"""What to do, decided once: a schema pair compiled to a tree that prints, compares and pickles."""

from kcodec.plan.node import Form, Limits, Node, Op, Plan

__all__ = ["Form", "Limits", "Node", "Op", "Plan"]
