package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gantry-mirror/gantry/pkg/fail"
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
	fail.On(t, err)
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
var counted = []string{"Ip: OutNoRoutes", "Udp: OutDatagrams", "Ip6OutNoRoutes", "Udp6OutDatagrams"}

// callsOut returns what the kernel counted so far, or "" outside of a namespace, where other programs count
// as well.
func callsOut(t *testing.T) string {
	t.Helper()
	if os.Getenv(inNamespace) == "" {
		return ""
	}
	counters := map[string]string{}
	for table := range strings.SplitSeq(readText(t, "/proc/self/net/snmp6"), "\n") {
		if fields := strings.Fields(table); len(fields) == 2 {
			counters[fields[0]] = fields[1]
		}
	}
	// A line with the names of a protocol, and one with their values.
	lines := strings.Split(readText(t, "/proc/self/net/snmp"), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		for n := range names[min(1, len(names)):] {
			counters[names[0]+" "+names[n+1]] = values[n+1]
		}
	}
	var all []string
	for _, name := range counted {
		if counters[name] == "" {
			t.Fatalf("the kernel does not count %s", name)
		}
		all = append(all, name+" "+counters[name])
	}
	return strings.Join(all, ", ")
}
