package releasetest

import "strings"

// defaultComponents are the components of a release without a list of components: those that tools
// look up by name, and two names of one image.
const defaultComponents = "cli cluster-version-operator machine-config-operator ovn-kubernetes ovn-kubernetes-microshift rhel-coreos"

// Components returns the default components of a release.
func Components() []string { return strings.Fields(defaultComponents) }

// Real412 returns the components of OpenShift 4.12.0.
func Real412() []string { return strings.Fields(real412) }

// aliases are components with the same image as another component of the release.
var aliases = map[string]string{
	"csi-driver-shared-resource-webhook": "csi-driver-shared-resource",
	"ovn-kubernetes-microshift":          "ovn-kubernetes",
}

// real412 are the real names of spec.tags in the image-references of 4.12.0.
const real412 = `
agent-installer-api-server agent-installer-csr-approver agent-installer-node-agent agent-installer-orchestrator
alibaba-cloud-controller-manager alibaba-cloud-csi-driver alibaba-disk-csi-driver-operator alibaba-machine-controllers
apiserver-network-proxy aws-cloud-controller-manager aws-cluster-api-controllers aws-ebs-csi-driver
aws-ebs-csi-driver-operator aws-machine-controllers aws-pod-identity-webhook azure-cloud-controller-manager
azure-cloud-node-manager azure-cluster-api-controllers azure-disk-csi-driver azure-disk-csi-driver-operator
azure-file-csi-driver azure-file-csi-driver-operator azure-machine-controllers baremetal-installer
baremetal-machine-controllers baremetal-operator baremetal-runtimecfg cli cli-artifacts cloud-credential-operator
cloud-network-config-controller cluster-authentication-operator cluster-autoscaler cluster-autoscaler-operator
cluster-baremetal-operator cluster-bootstrap cluster-capi-controllers cluster-capi-operator
cluster-cloud-controller-manager-operator cluster-config-operator cluster-control-plane-machine-set-operator
cluster-csi-snapshot-controller-operator cluster-dns-operator cluster-etcd-operator cluster-image-registry-operator
cluster-ingress-operator cluster-kube-apiserver-operator cluster-kube-cluster-api-operator
cluster-kube-controller-manager-operator cluster-kube-scheduler-operator cluster-kube-storage-version-migrator-operator
cluster-machine-approver cluster-monitoring-operator cluster-network-operator cluster-node-tuning-operator
cluster-openshift-apiserver-operator cluster-openshift-controller-manager-operator cluster-platform-operators-manager
cluster-policy-controller cluster-samples-operator cluster-storage-operator cluster-update-keys cluster-version-operator
configmap-reloader console console-operator container-networking-plugins coredns csi-driver-manila
csi-driver-manila-operator csi-driver-nfs csi-driver-shared-resource csi-driver-shared-resource-operator
csi-driver-shared-resource-webhook csi-external-attacher csi-external-provisioner csi-external-resizer
csi-external-snapshotter csi-livenessprobe csi-node-driver-registrar csi-snapshot-controller
csi-snapshot-validation-webhook deployer docker-builder docker-registry driver-toolkit egress-router-cni etcd
gcp-cloud-controller-manager gcp-cluster-api-controllers gcp-machine-controllers gcp-pd-csi-driver
gcp-pd-csi-driver-operator haproxy-router hyperkube hypershift ibm-cloud-controller-manager ibm-vpc-block-csi-driver
ibm-vpc-block-csi-driver-operator ibm-vpc-node-label-updater ibmcloud-cluster-api-controllers
ibmcloud-machine-controllers insights-operator installer installer-artifacts ironic ironic-agent
ironic-machine-os-downloader ironic-static-ip-manager k8s-prometheus-adapter keepalived-ipfailover kube-proxy
kube-rbac-proxy kube-state-metrics kube-storage-version-migrator kubevirt-cloud-controller-manager kubevirt-csi-driver
kuryr-cni kuryr-controller libvirt-machine-controllers machine-api-operator machine-config-operator
machine-image-customization-controller machine-os-content machine-os-images multus-admission-controller multus-cni
multus-networkpolicy multus-route-override-cni multus-whereabouts-ipam-cni must-gather network-interface-bond-cni
network-metrics-daemon network-tools nutanix-machine-controllers oauth-apiserver oauth-proxy oauth-server oc-mirror
olm-rukpak openshift-apiserver openshift-controller-manager openshift-state-metrics openstack-cinder-csi-driver
openstack-cinder-csi-driver-operator openstack-cloud-controller-manager openstack-machine-api-provider
openstack-machine-controllers operator-lifecycle-manager operator-marketplace operator-registry ovirt-csi-driver
ovirt-csi-driver-operator ovirt-machine-controllers ovn-kubernetes ovn-kubernetes-microshift pod
powervs-block-csi-driver powervs-block-csi-driver-operator powervs-cloud-controller-manager powervs-machine-controllers
prom-label-proxy prometheus prometheus-alertmanager prometheus-config-reloader prometheus-node-exporter
prometheus-operator prometheus-operator-admission-webhook rhel-coreos-8 rhel-coreos-8-extensions
route-controller-manager sdn service-ca-operator telemeter tests thanos tools vsphere-cloud-controller-manager
vsphere-cluster-api-controllers vsphere-csi-driver vsphere-csi-driver-operator vsphere-csi-driver-syncer
vsphere-problem-detector
`
