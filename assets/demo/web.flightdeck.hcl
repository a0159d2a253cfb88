# Updates one web server at a time, and pauses if it is not ready within ten seconds.

group "web" {
  instance  = local_process.web
  dedicated = [local_directory.web]
  global    = [local_file.page]

  update {
    batch = 1

    health {
      http        = "${self.url}/ready"
      interval    = "1s"
      consecutive = 3
      timeout     = "10s"
    }
  }
}
