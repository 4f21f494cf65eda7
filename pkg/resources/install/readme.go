package install

import (
	"fmt"
	"strings"
)

// readme tells what the files are for.
func (w *writer) readme() {
	var b strings.Builder
	section := func(title, text string) { b.WriteString("\n## " + title + "\n\n" + text + "\n") }
	fmt.Fprintf(&b, "# Install clusters from %s\n\nGantry writes these files from what the mirror has, and writes them again after each run. They contain no secrets:\nadd the mirror's password to the pull secret yourself.\n", w.in.Host)
	if len(w.releases) > 0 {
		section("openshift-install, agent-based installer", "Add the fields of `install-config.yaml` to the one of the cluster; for 4.13 or older, those of\n`install-config-before-4.14.yaml`. Extract an openshift-install from the mirrored release, so that it installs that release.\n"+
			"Only if the agent-based installer gets manifests instead of install-config.yaml, copy `agent/mirror/` beside `cluster-manifests/`.")
		section("Assisted service, Advanced Cluster Management, Hive", "On the hub: `oc apply -f assisted-service/mirror-config.yaml -f cluster-image-sets/`, then run the command in the first line\nof `assisted-service/agent-service-config-patch.yaml`. It also says which boot images the mirror does not have.\n"+
			"If there is an `assisted-service/os-images-patch.yaml`, follow its first lines.")
		section("Hosted control planes", "Merge `hosted-cluster/hosted-cluster-patch.yaml` into the HostedCluster, and `node-pool-patch.yaml` into its NodePools.")
		section("Image-based installations", "`image-based/image-based-installation-config.yaml` is for `openshift-install image-based create image`,\n`image-cluster-install-patch.yaml` for the ImageClusterInstall on the hub.")
	}
	ca := "The CA of the mirror belongs in `/etc/pki/ca-trust/source/anchors/`; run `update-ca-trust`."
	if len(w.in.CA) > 0 {
		ca = "Copy `microshift/mirror-ca.crt` to `/etc/pki/ca-trust/source/anchors/`, and run `update-ca-trust`."
	}
	section("MicroShift", "Copy `microshift/registries.conf.d/` and `microshift/registries.d/` to `/etc/containers/`. "+ca+"\n"+
		"The policy of RHEL refuses images of Red Hat in a mirror without signatures. `microshift/policy.json` accepts every image: copy it to\n`/etc/containers/` unless you have a policy of your own.")
	if w.in.PlainHTTP {
		section("Plain HTTP", "The mirror has no TLS. registries.conf marks it as insecure. install-config.yaml, HostedCluster and ImageClusterInstall cannot\nsay so, and installers refuse such a mirror: give it a certificate.")
	}
	w.text("README.md", b.String())
}
