variable "app" {
  description = "Name of the shop; most names begin with it."
  type        = string
  default     = "shop"

  validation {
    condition     = length(var.app) >= 2 && length(var.app) <= 20
    error_message = "The name must have 2 to 20 characters."
  }
}

variable "database_password" {
  description = "Shown nowhere."
  type        = string
  default     = "correct-horse-battery-staple"
  sensitive   = true
}

variable "lab_file" {
  description = "Where the lab keeps its world."
  type        = string
  default     = "lab.json"
}

variable "out_dir" {
  description = "Where the inventory is written."
  type        = string
  default     = "out"
}
