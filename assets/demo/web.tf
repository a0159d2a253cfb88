# Three web servers: real processes of this machine. The group in web.flightdeck.hcl updates them one
# after another. A release with `broken` in its name never becomes ready.

variable "web_release" {
  description = "Release of the web servers, such as v1 or v2-broken."
  type        = string
  default     = "v1"
}

variable "web_ports" {
  description = "Port of each web server."
  type        = map(number)
  default     = { a = 18081, b = 18082, c = 18083 }
}

variable "web_program" {
  description = "Program that has the web server."
  type        = string
  default     = "flightdeck"
}

variable "web_lock" {
  description = "File that the demo locks; its web servers end with the lock."
  type        = string
  default     = "web.lock"
}

resource "local_process" "web" {
  for_each = var.web_ports

  command = [
    var.web_program, "plugin", "web",
    "--port", each.value,
    "--release", var.web_release,
    "--until-unlocked", var.web_lock,
  ]
  port     = each.value
  log_file = "${local_directory.web[each.key].path}/requests.log"

  environment = {
    PAGE = local_file.page.filename
  }
}

# Of one web server each: it keeps its log in a rolling update.
resource "local_directory" "web" {
  for_each = var.web_ports

  path  = "${local_directory.out.path}/web-${each.key}"
  force = true
}

# Of all web servers.
resource "local_file" "page" {
  filename = "${local_directory.out.path}/page.txt"
  content  = "${var.app} is open\n"
}
