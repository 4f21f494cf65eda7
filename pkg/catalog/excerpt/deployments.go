package excerpt

// An Install is spec.install of a ClusterServiceVersion, as far as it names images.
type Install struct {
	Spec struct {
		Deployments []Deployment `json:"deployments"`
	} `json:"spec"`
}

// A Deployment is a deployment of an operator.
type Deployment struct {
	Name string `json:"name"`
	Spec struct {
		Template struct {
			Spec struct {
				Containers     []Container `json:"containers"`
				InitContainers []Container `json:"initContainers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// A Container is a container of a deployment. The value of a variable is any JSON.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	Env   []struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
	} `json:"env"`
}
