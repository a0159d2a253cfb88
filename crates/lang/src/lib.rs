//! The Terraform language: .tf and .tf.json into one syntax tree; evaluation; functions.
