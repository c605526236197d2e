package punctualtest

import (
	"os/exec"
	"syscall"
)

// endWithParent lets the system end the program if the test is killed.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
