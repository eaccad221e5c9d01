"""What to do, decided once: a schema pair compiled to a tree that prints, compares and pickles."""

from kcodec.plan.node import Limits, Node, Plan

__all__ = ["Limits", "Node", "Plan"]
