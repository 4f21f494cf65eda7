package hosts

import (
	"fmt"
	"strings"
)

// readme tells where the files belong.
func readme(in Input, lost bool) []byte {
	var b strings.Builder
	section := func(title, format string, args ...any) {
		fmt.Fprintf(&b, "\n## %s\n\n"+format+"\n", append([]any{title}, args...)...)
	}
	fmt.Fprintf(&b, "# Clusters and machines that pull from %s\n\nGantry writes these files from what the mirror has, and writes them again after each run. They contain no passwords:\nif the mirror needs one, add it as the documentation of each program says.\n", in.Host)
	if len(in.Mirrors) > 0 {
		section("podman, Buildah, skopeo, CRI-O", "Copy `containers/registries.conf.d/%s` to `/etc/containers/registries.conf.d/`. For CRI-O, run `systemctl reload crio`\nafterwards. The CA of the mirror belongs in `/etc/containers/certs.d/%s/ca.crt`.", dropIn, in.Host)
	}
	section("containerd", "Copy the folders in `containerd/certs.d/` to `/etc/containerd/certs.d/`, and set the path once in\n`/etc/containerd/config.toml`. containerd reads later changes of the folders without a restart.\n\n"+
		"```toml\n# containerd 2 (version = 3)\n[plugins.\"io.containerd.cri.v1.images\".registry]\n  config_path = \"/etc/containerd/certs.d\"\n\n# containerd 1 (version = 2)\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\n  config_path = \"/etc/containerd/certs.d\"\n```\n\nFields: <%s>", containerdSource)
	section("kind", "Run `kind create cluster --config kind.yaml` in this folder. The nodes mount `containerd/certs.d`.")
	section("K3s and RKE2", "Copy `k3s/registries.yaml` to `/etc/rancher/k3s/registries.yaml`, or `rke2/registries.yaml` to\n`/etc/rancher/rke2/registries.yaml`, on every node, together with the other files of the folder, and restart the service.")
	section("Talos Linux", "Any Talos 1.x: `talosctl patch machineconfig --patch @talos/machine-config-patch.yaml`. Talos 1.12 or newer can have the\ndocuments of `talos/registry-documents.yaml` in its machine configuration instead. Use one of the two.")
	if len(in.Mirrors) > 0 {
		olm := "1. Configure the runtime of the nodes as above.\n" +
			"2. OLM's operator-controller pulls bundles itself, without the runtime. Give it the mirrors:\n   `kubectl apply -f olm-v1/registries-conf.yaml`, then run the command in the first line of\n   `olm-v1/operator-controller-patch.yaml`."
		if len(in.CA) > 0 {
			olm += "\n   For the CA of the mirror, apply `olm-v1/mirror-ca.yaml` first, and also patch\n   catalogd with `olm-v1/catalogd-patch.yaml`."
		}
		olm += "\n3. Of `cluster-resources/`, apply only the ClusterCatalogs: run `gantry cluster resources --for kubernetes`, which writes a Kustomization of\n   them, and `kubectl apply -k` the folder. Other objects there are for OpenShift or OLM classic, and fail where their kind is unknown."
		section("Kubernetes with OLM v1", "%s", olm)
	}
	if lost {
		section("Images that are not redirected", "`not-redirected.txt` lists images whose names a runtime cannot redirect. Request them by their names in the mirror.")
	}
	return []byte(b.String())
}
