package hosts

import (
	"fmt"
	"strings"
)

const containerdSource = "https://github.com/containerd/containerd/blob/main/docs/hosts.md"

// addContainerd writes the host configuration of containerd: a folder for each registry, and one for the
// mirror.
func addContainerd(in Input, registries []registry, add func(string, []byte)) {
	own := "containerd/certs.d/" + hostFolder(in.Host)
	hasOwn := false
	for _, r := range registries {
		if len(r.endpoints) == 0 {
			continue
		}
		hasOwn = hasOwn || r.host == in.Host
		add("containerd/certs.d/"+hostFolder(r.host)+"/hosts.toml", hostsTOML(in, r))
	}
	if len(in.CA) > 0 {
		add(own+"/ca.crt", in.CA)
	}
	if !hasOwn && (len(in.CA) > 0 || in.PlainHTTP) {
		add(own+"/hosts.toml", hostsTOML(in, registry{host: in.Host}))
	}
}

// hostFolder returns the name of a registry's folder, which works on every file system: "quay.io",
// "mirror.example.com_5000_". containerd looks for it first.
func hostFolder(host string) string {
	if i := strings.LastIndex(host, ":"); i > 0 && !strings.HasSuffix(host, "]") {
		return host[:i] + "_" + host[i+1:] + "_"
	}
	return host
}

// hostsTOML writes the configuration of a registry. The mirrors are tried in the order of the file, and
// then the server, which is the registry itself by default. A mirror that can only pull is not asked for
// tags. With override_path, the path of a mirror's address comes before the name of a repository.
func hostsTOML(in Input, r registry) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Where containerd pulls images of %s. Fields: %s\n", r.host, containerdSource)
	if in.blocked() && r.host != in.Host {
		// The registry itself is never asked: the mirror takes its place.
		fmt.Fprintf(&b, "server = %q\n", in.address(r.endpoints[0]))
		in.writeHost(&b, "", r.endpoints[0])
	}
	for _, e := range r.endpoints {
		fmt.Fprintf(&b, "\n[host.%q]\n", in.address(e))
		in.writeHost(&b, "  ", e)
	}
	if r.host == in.Host {
		fmt.Fprintf(&b, "\n[host.%q]\n", in.url())
		in.writeHost(&b, "  ", endpoint{tags: true})
	}
	return []byte(b.String())
}

// address returns the address of a prefix in the mirror.
func (in Input) address(e endpoint) string {
	if e.prefix == "" {
		return in.url()
	}
	return in.url() + "/v2/" + strings.TrimSuffix(e.prefix, "/")
}

func (in Input) writeHost(b *strings.Builder, indent string, e endpoint) {
	capabilities := `["pull"]`
	if e.tags {
		capabilities = `["pull", "resolve"]`
	}
	b.WriteString(indent + "capabilities = " + capabilities + "\n")
	if e.prefix != "" {
		b.WriteString(indent + "override_path = true\n")
	}
	if len(in.CA) > 0 {
		fmt.Fprintf(b, "%sca = %q\n", indent, "../"+hostFolder(in.Host)+"/ca.crt")
	}
}

// kindConfig mounts the folder of containerd into the nodes of a kind cluster. kind takes relative paths
// from the current folder.
const kindConfig = `# A kind cluster that pulls from the mirror. Run this in the folder of this file:
#   kind create cluster --config kind.yaml
# Fields: https://kind.sigs.k8s.io/docs/user/configuration/ and https://kind.sigs.k8s.io/docs/user/local-registry/
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
containerdConfigPatches:
- |-
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
nodes:
- role: control-plane
  extraMounts:
  - hostPath: containerd/certs.d
    containerPath: /etc/containerd/certs.d
    readOnly: true
`
