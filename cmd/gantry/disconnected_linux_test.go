package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace is set in a process whose network consists of its own loopback interface.
const inNamespace = "GANTRY_TEST_IN_NAMESPACE"

// TestNamespace runs the tests of disconnected sites again in a network of their own, which has no route to
// any other host. There, the kernel counts each attempt to reach one and each lookup of a name, whatever
// code makes it.
func TestNamespace(t *testing.T) {
	t.Parallel()
	long(t)
	if os.Getenv(inNamespace) != "" {
		return
	}
	newSmallFixture(t) // the registry's program is built while there is a network
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestNothingCallsOut|^TestAttemptsAreCounted$", "-test.v", "-test.count=1", "-test.timeout=4m")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("this system permits no network namespaces: %v", err)
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() == noLoopback {
		t.Skipf("this system permits no network in namespaces:\n%s", &out)
	}
	if err != nil {
		t.Errorf("without a network: %v\n%s", err, &out)
	}
	for _, name := range []string{"TestNothingCallsOut", "TestNothingCallsOutForReleases", "TestAttemptsAreCounted"} {
		if !strings.Contains(out.String(), "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass without a network", name)
		}
	}
}

// noLoopback is the exit status of a process that cannot use its own loopback interface.
const noLoopback = 77

// prepareNetwork makes the loopback interface usable in a process with its own network.
func prepareNetwork() {
	if os.Getenv(inNamespace) == "" {
		return
	}
	if err := startLoopback(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(noLoopback)
	}
}

func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// TestAttemptsAreCounted checks that the kernel counts what TestNothingCallsOut looks for. It is not parallel, so
// that it ends before those begin.
func TestAttemptsAreCounted(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		t.Skip("only in a namespace")
	}
	for _, host := range []string{"198.51.100.7", "registry.invalid", "[2001:db8::7]"} {
		before := callsOut(t)
		var out strings.Builder
		if code := (&app{stdout: &out, stderr: &out, env: map[string]string{}}).run([]string{"catalog", "list", host + "/catalog:v1", "--retry-times", "0"}); code == exitOK {
			t.Errorf("%s was reached", host)
		}
		if callsOut(t) == before {
			t.Errorf("an attempt to reach %s was not counted: %s\n%s", host, before, &out)
		}
	}
}

// counted are the counters of the kernel that callsOut reads: attempts to reach a host without a route, over
// IPv4 and IPv6, and datagrams, which are lookups of names at a resolver on this machine.
var counted = []string{"Ip OutNoRoutes", "Udp OutDatagrams", "Ip6OutNoRoutes", "Udp6OutDatagrams"}

// callsOut returns what the kernel counted so far, or "" outside of a namespace, where other programs count
// as well.
func callsOut(t *testing.T) string {
	t.Helper()
	if os.Getenv(inNamespace) == "" {
		return ""
	}
	counters := map[string]string{}
	for _, file := range []string{"/proc/self/net/snmp", "/proc/self/net/snmp6"} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		var names []string
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			kind, isList := strings.CutSuffix(fields[0], ":")
			switch {
			case !isList:
				counters[fields[0]] = fields[1]
			case names == nil:
				names = fields
			default:
				for i, name := range names {
					counters[kind+" "+name] = fields[i]
				}
				names = nil
			}
		}
	}
	var all []string
	for _, name := range counted {
		value, ok := counters[name]
		if !ok {
			t.Fatalf("the kernel does not count %s", name)
		}
		all = append(all, name+" "+value)
	}
	return strings.Join(all, ", ")
}
