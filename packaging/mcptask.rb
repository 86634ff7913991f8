class Mcptask < Formula
  desc "MCP server that keeps the tasks, checkpoints and handoffs of agents"
  homepage "https://github.com/@OWNER@/mcptask"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "https://github.com/@OWNER@/mcptask/releases/download/v@VERSION@/mcptask-@VERSION@-macos-aarch64.tar.gz"
      sha256 "@SHA256 macos-aarch64@"
    end
    on_intel do
      url "https://github.com/@OWNER@/mcptask/releases/download/v@VERSION@/mcptask-@VERSION@-macos-x86_64.tar.gz"
      sha256 "@SHA256 macos-x86_64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/@OWNER@/mcptask/releases/download/v@VERSION@/mcptask-@VERSION@-linux-aarch64.tar.gz"
      sha256 "@SHA256 linux-aarch64@"
    end
    on_intel do
      url "https://github.com/@OWNER@/mcptask/releases/download/v@VERSION@/mcptask-@VERSION@-linux-x86_64.tar.gz"
      sha256 "@SHA256 linux-x86_64@"
    end
  end

  def install
    bin.install "bin/mcptask"
    man1.install "share/man/man1/mcptask.1"
    man5.install "share/man/man5/mcptask-log.5"
    pkgshare.install "share/mcptask/plugin"
    generate_completions_from_executable(bin/"mcptask", "completion")
  end

  service do
    run [opt_bin/"mcptask", "--http"]
    keep_alive true
  end

  test do
    ENV["MCP_TASK_BASE_DIR"] = testpath
    system bin/"mcptask", "add", "--id", "try", "Try it"
    assert_match "Try it", shell_output("#{bin}/mcptask list")
    assert_match version.to_s, shell_output("#{bin}/mcptask --version")
  end
end
