package listen

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// firstPassed is the descriptor of the first socket that systemd passes.
const firstPassed = 3

// socket is a socket that systemd passed.
type socket struct {
	net.Listener
	name string // FileDescriptorName=, by default the name of the socket unit
}

// passedSockets returns the sockets that systemd passed to the process pid (see
// sd_listen_fds(3)). Variables for another process are ignored.
func passedSockets(getenv func(string) string, pid int) ([]socket, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(pid) {
		return nil, nil
	}
	count, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || count < 0 || count > 100 {
		return nil, AddressError{fmt.Errorf("LISTEN_FDS is not a number from 0 to 100")}
	}
	names := strings.Split(getenv("LISTEN_FDNAMES"), ":")
	var sockets []socket
	for i := range count {
		s := socket{name: "unknown"}
		if len(names) == count {
			s.name = names[i]
		}
		file := os.NewFile(uintptr(firstPassed+i), s.name)
		s.Listener, err = net.FileListener(file) // a copy, closed on exec
		_ = file.Close()                         // its errors are those of FileListener
		if err != nil {
			return nil, AddressError{fmt.Errorf("systemd passed %s, which is not a listening stream socket: %w", s.name, err)}
		}
		sockets = append(sockets, s)
	}
	return sockets, nil
}

// States for Notify.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
	alive    = "WATCHDOG=1"
)

// Notify tells systemd the state of a service with Type=notify (see sd_notify(3)). Under
// other supervisors it does nothing.
func Notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}

// Watchdog tells systemd that the service is alive, at half the period of WatchdogSec=,
// until the context is done. Without a watchdog it returns immediately.
func Watchdog(ctx context.Context) {
	period, err := strconv.Atoi(os.Getenv("WATCHDOG_USEC"))
	if pid := os.Getenv("WATCHDOG_PID"); err != nil || period <= 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return
	}
	for ticks := time.NewTicker(time.Duration(period) * time.Microsecond / 2); ; {
		_ = Notify(alive) // systemd restarts the service if it gets none
		select {
		case <-ticks.C:
		case <-ctx.Done():
			ticks.Stop()
			return
		}
	}
}
