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

	"warranty.example/svc/internal/testenv"
)

// atTerminal runs a command in a pseudoterminal. When its output matches after, typed
// is typed; if hidden, not before the echo is off.
func atTerminal(cmd *exec.Cmd, columns int, after, typed string, hidden bool) (shown string, code int, err error) {
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
		_, _ = out.ReadFrom(master) // returns an error when the other side is closed
	}()
	if typed != "" {
		prompt := regexp.MustCompile(after)
		// A prompt for a secret turns the echo off after the question; other input is buffered by the terminal.
		ready := func() bool { return prompt.MatchString(out.String()) && (!hidden || !echoes(master)) }
		for deadline := time.Now().Add(testenv.Patience); !ready(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				_ = cmd.Process.Kill()
				return out.String(), 0, fmt.Errorf("no output matched %q within %v", after, testenv.Patience)
			}
		}
		if _, err := master.WriteString(typed); err != nil {
			return out.String(), 0, err
		}
	}
	timer := time.AfterFunc(testenv.Patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the caller checks the exit code
	<-done
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode(), nil
}

// echoes reports whether a terminal echoes input.
func echoes(terminal *os.File) bool {
	var settings syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&settings)))
	return errno != 0 || settings.Lflag&syscall.ECHO != 0
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
