//! The reconcile room.
