package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// atTerminal runs a command at a terminal of its own. When its output matches
// after, typed is typed.
func atTerminal(cmd *exec.Cmd, columns int, after, typed string) (shown string, code int, err error) {
	master, slave, err := openTerminal(columns)
	if err != nil {
		return "", 0, err
	}
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		return "", 0, err
	}
	var out lockedBuffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = out.ReadFrom(master) // it ends with an error when the other side is closed
	}()
	if typed != "" {
		prompt := regexp.MustCompile(after)
		for range 500 {
			if prompt.MatchString(out.String()) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // the echo is switched off after the question
		if _, err := master.WriteString(typed); err != nil {
			return out.String(), 0, err
		}
	}
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the exit code is looked at
	<-done
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode(), nil
}

func openTerminal(columns int) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, errNoTerminal
	}
	var number, unlock int32
	size := [4]uint16{40, uint16(columns)}
	for request, argument := range map[uintptr]unsafe.Pointer{syscall.TIOCSPTLCK: unsafe.Pointer(&unlock), syscall.TIOCGPTN: unsafe.Pointer(&number), syscall.TIOCSWINSZ: unsafe.Pointer(&size)} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(argument)); errno != 0 {
			master.Close()
			return nil, nil, errno
		}
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}
