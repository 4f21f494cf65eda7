//go:build amd64 || arm64

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// watchProblem begins what is printed if system calls cannot be watched.
const watchProblem = "cannot watch system calls:"

// asWatched is the environment variable that makes the test program run another one, whose system calls are watched.
const asWatched = "GANTRY_TEST_WATCHED"

func TestMain(m *testing.M) {
	if os.Getenv(asWatched) != "" {
		fmt.Fprintln(os.Stderr, watchProblem, becomeWatched(os.Args[1:]))
		os.Exit(2)
	}
	m.Run()
}

// watchedCalls are the system calls that stop until the watcher lets them continue: those that change files or send
// something. openat is another one, if it may change a file.
func watchedCalls() []uint32 {
	return []uint32{
		unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_SENDFILE, unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE, unix.SYS_FTRUNCATE,
		unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
	}
}

// filter returns a program for the kernel that stops the calls.
func filter() []unix.SockFilter {
	const nr, thirdArgument = 0, 32 // offsets in struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	var p []unix.SockFilter
	p = append(p, load(nr))
	all := watchedCalls()
	for i, call := range all {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(all) - i + 3), K: call})
	}
	return append(p,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 2, K: unix.SYS_OPENAT},
		load(thirdArgument),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jt: 1, K: unix.O_CREAT | unix.O_TRUNC},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
	)
}

// becomeWatched replaces this process by a program. The descriptor 3 is a socket to the watcher.
func becomeWatched(args []string) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up privileges: %w", err)
	}
	code := filter()
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("watching system calls: %w", errno)
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return fmt.Errorf("sending the descriptor: %w", err)
	}
	unix.CloseOnExec(3)
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, asWatched+"=") })
	return syscall.Exec(args[0], args, environment)
}

// A call is a system call that waits. It is struct seccomp_notif of the kernel.
type call struct {
	id        uint64
	thread, _ uint32
	nr        int32
	_         uint32
	_         uint64
	args      [6]uint64
}

// A reply is struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// A watcher numbers what a program changes and sends, and kills it at one of these points.
type watcher struct {
	t       *testing.T
	dir     string // where changes count
	point   int    // the number of the last point
	killAt  int    // 0: never
	what    string // the point where it was killed
	process *os.Process
	disk    *disk // follows what is synced; may be nil
}

// start starts a command, and returns what waits for its end.
func (w *watcher) start(cmd *exec.Cmd) (wait func()) {
	w.t.Helper()
	own, err := os.Executable()
	fail.On(w.t, err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	fail.On(w.t, err)
	theirs := os.NewFile(uintptr(pair[1]), "watcher")
	cmd.Args = append([]string{own}, cmd.Args...)
	cmd.Args[1], cmd.Path = cmd.Path, own
	cmd.Env = append(cmd.Env, asWatched+"=1")
	cmd.ExtraFiles = []*os.File{theirs}
	fail.On(w.t, cmd.Start())
	_ = theirs.Close() // the process has it
	w.process = cmd.Process
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), rights, 0)
	_ = unix.Close(pair[0])
	var listener []int
	if err == nil && n > 0 {
		var messages []unix.SocketControlMessage
		if messages, err = unix.ParseSocketControlMessage(rights[:n]); err == nil {
			listener, err = unix.ParseUnixRights(&messages[0])
		}
	}
	fail.On(w.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if len(listener) == 1 { // otherwise, the process prints why
			w.serve(listener[0])
			_ = unix.Close(listener[0])
		}
	}()
	return func() {
		_ = cmd.Wait() // the exit status says more
		<-done
	}
}

// serve answers until the process has ended.
func (w *watcher) serve(listener int) {
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil || ready[0].Revents&unix.POLLIN == 0 {
			if err == unix.EINTR {
				continue
			}
			return
		}
		var c call
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&c))); errno != 0 {
			continue // the thread has ended
		}
		if a := w.answer(listener, &c); a != nil {
			a.id = c.id
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(a)))
		}
	}
}

// An action is what a call is going to do.
type action struct {
	what, path string
	do         func() error // in place of the program; nil lets the kernel continue
}

// answer decides about a call. It returns nil if there is no reply: the process was killed, or has one. What changes names is
// done here, so that it is done before anything else happens.
func (w *watcher) answer(listener int, c *call) *reply {
	proceed := &reply{flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	a := w.action(listener, c)
	if a.path != w.dir && !strings.HasPrefix(a.path, w.dir+"/") && !strings.HasPrefix(a.path, "socket:") {
		return proceed
	}
	w.point++
	if w.point == w.killAt {
		w.what = a.what + " " + strings.TrimPrefix(a.path, w.dir+"/")
		_ = w.process.Kill() // it runs: it waits for the reply
		return nil
	}
	if a.do == nil {
		return proceed
	}
	err := a.do()
	if errors.Is(err, errAnswered) {
		return nil
	}
	var errno syscall.Errno
	_ = errors.As(err, &errno) // 0 without an error
	return &reply{errno: -int32(errno)}
}

// errAnswered means that the process has its reply.
var errAnswered = errors.New("answered")

func (w *watcher) action(listener int, c *call) action {
	path := func() string { return w.path(c, 0, 1) }
	switch c.nr {
	case unix.SYS_OPENAT:
		return action{"create", path(), func() error { return w.open(listener, c) }}
	case unix.SYS_MKDIRAT:
		return action{"make", path(), func() error { return w.disk.create(path(), fs.ModeDir, unix.Mkdir(path(), uint32(c.args[2]))) }}
	case unix.SYS_UNLINKAT:
		return action{"remove", path(), func() error { return w.disk.remove(path(), unix.Unlinkat(unix.AT_FDCWD, path(), int(c.args[2]))) }}
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		to := w.path(c, 2, 3)
		return action{"rename to", to, func() error { return w.disk.rename(path(), to, unix.Rename(path(), to)) }}
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		at := w.descriptor(c, 0)
		if w.disk == nil {
			return action{"sync", at, nil}
		}
		return action{"sync", at, func() error { return w.disk.sync(at) }}
	case unix.SYS_FTRUNCATE:
		return action{"truncate", w.descriptor(c, 0), nil}
	case unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE:
		return action{"copy to", w.descriptor(c, 2), nil}
	}
	return action{"write to", w.descriptor(c, 0), nil}
}

// open opens a file for the process.
func (w *watcher) open(listener int, c *call) error {
	path, flags := w.path(c, 0, 1), int(c.args[2])
	_, before := os.Lstat(path)
	f, err := unix.Open(path, flags|unix.O_CLOEXEC, uint32(c.args[3]))
	if err != nil {
		return err
	}
	defer unix.Close(f)
	if before != nil {
		if err := w.disk.create(path, fs.FileMode(c.args[3]), nil); err != nil {
			return err
		}
	}
	add := struct { // struct seccomp_notif_addfd
		id                         uint64
		flags, from, to, fileFlags uint32
	}{id: c.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, from: uint32(f), fileFlags: uint32(flags & unix.O_CLOEXEC)}
	const addDescriptor = 0x40182103                                                                        // SECCOMP_IOCTL_NOTIF_ADDFD
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), addDescriptor, uintptr(unsafe.Pointer(&add))) // it may have ended
	return errAnswered
}

// descriptor returns the path of the file that an argument refers to, or what it is.
func (w *watcher) descriptor(c *call, argument int) string {
	to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.thread, int32(c.args[argument])))
	return to
}

// path returns the path that two arguments name: the descriptor of a folder, and a text.
func (w *watcher) path(c *call, folder, name int) string {
	text := make([]byte, 4096)
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.thread))
	if err != nil {
		return "" // it has ended
	}
	defer memory.Close()
	at := int64(c.args[name])
	n, _ := memory.ReadAt(text[:4096-at%4096], at) // what is behind it may not exist
	m, _ := memory.ReadAt(text[n:], at+int64(n))
	base, _, _ := strings.Cut(string(text[:n+m]), "\x00")
	switch {
	case filepath.IsAbs(base):
		return filepath.Clean(base)
	case int32(c.args[folder]) == unix.AT_FDCWD:
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", c.thread))
		return filepath.Join(to, base)
	}
	return filepath.Join(w.descriptor(c, folder), base)
}
