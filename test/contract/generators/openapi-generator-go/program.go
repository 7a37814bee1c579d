// Submits a task over the client of openapi-generator, waits for its end and prints its result.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"program/client"
)

func main() {
	secret := os.Getenv("TASK_GATEWAY_AUTH")
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("TASK_GATEWAY_URL")}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+secret)
	tasks := client.NewAPIClient(configuration).CoreAPI
	always := context.Background()

	payload := map[string]any{"text": "grüß dich"}
	body := client.NewTaskSubmission(secret, "echo", []string{"upper"}, payload)
	task, _, err := tasks.SubmitTask(always).TaskSubmission(*body).Execute()
	for err == nil && (task.Status == client.PENDING || task.Status == client.RUNNING) {
		task, _, err = tasks.GetTask(always, task.RequestId).Wait(30).Execute()
	}
	if err != nil {
		log.Fatal(err)
	}
	result := task.GetResult()
	fmt.Println(task.Status, result.GetOutput())
}
