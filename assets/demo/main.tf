# A small shop on the lab, a fake cloud that lives in one file. Change anything here and stage again.

terraform {
  required_providers {
    lab = {
      source = "flightdeck.internal/bundled/lab"
    }
    local = {
      source = "flightdeck.internal/bundled/local"
    }
    # A Bluelink plugin. Its first two launches end before it registers, on purpose; the third succeeds.
    slowstart = {
      source = "flightdeck/slowstart"
    }
    # Never comes up. Nothing below needs it.
    broken = {
      source = "flightdeck.internal/bundled/broken"
    }
  }
}

provider "lab" {
  file      = var.lab_file
  region    = "eu-central"
  create_ms = 900
  read_ms   = 60
  update_ms = 700
  delete_ms = 500
}

locals {
  # Another release changes one value in the policy of each bucket.
  release = "v1.4.2"

  tags = {
    app = var.app
    env = "demo"
  }

  web = {
    a = { size = "small", weight = 1 }
    b = { size = "small", weight = 1 }
    c = { size = "medium", weight = 2 }
  }
}

data "lab_image" "base" {
  family = "debian"
}

module "network" {
  source = "./modules/network"

  name = "${var.app}-net"
  cidr = "10.20.0.0/16"
  tags = local.tags
}

# The one that takes long: about eighteen seconds.
resource "lab_database" "orders" {
  name       = "${var.app}-orders"
  engine     = "postgres"
  size       = "medium"
  storage_gb = 50
  network_id = module.network.id
  password   = var.database_password
  tags       = local.tags
  create_ms  = 18000

  backup {
    retention_days = 7
  }
}

resource "lab_bucket" "store" {
  for_each = toset(["assets", "logs"])

  name      = "${var.app}-${each.key}"
  versioned = each.key == "assets"
  tags      = merge(local.tags, { purpose = each.key })

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for action in ["GetObject", "PutObject"] : {
      Sid      = action
      Effect   = "Allow"
      Action   = ["s3:${action}"]
      Resource = "arn:lab:s3:::${var.app}-${each.key}/*"
      Condition = {
        StringEquals = { "aws:PrincipalTag/release" = local.release }
      }
    }]
  })

  lifecycle_rule {
    prefix      = "tmp/"
    expire_days = 7
  }
}

module "app" {
  source = "./modules/app"

  name         = var.app
  zone         = "${var.app}.example"
  image        = data.lab_image.base.id
  network_id   = module.network.id
  servers      = local.web
  database_url = lab_database.orders.connection_string
  tags         = local.tags
}

# Waits for everything that matters.
resource "lab_thing" "release" {
  name = "${var.app}-release"
  kind = "release"

  triggers = {
    image = data.lab_image.base.version
  }

  data = {
    bucket  = lab_bucket.store["assets"].url
    servers = join(",", module.app.names)
  }

  depends_on = [lab_database.orders]
}

resource "slowstart_probe" "ready" {
  name    = var.app
  message = "balancer at ${module.app.balancer}"
}

resource "local_directory" "out" {
  path = var.out_dir
}

resource "local_file" "inventory" {
  filename = "${local_directory.out.path}/inventory.json"
  content = jsonencode({
    network = module.network.id
    servers = module.app.addresses
    buckets = { for name, bucket in lab_bucket.store : name => bucket.url }
  })
}

resource "local_file" "credentials" {
  filename        = "${local_directory.out.path}/database.env"
  content         = "DATABASE_URL=${lab_database.orders.connection_string}\n"
  file_permission = "0600"
}
