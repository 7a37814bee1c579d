// Submits a task over the client of oapi-codegen, waits for its end and prints its result.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"program/client"
)

func main() {
	secret := os.Getenv("TASK_GATEWAY_AUTH")
	authorize := func(_ context.Context, call *http.Request) error {
		call.Header.Set("Authorization", "Bearer "+secret)
		return nil
	}
	gateway, err := client.NewClientWithResponses(os.Getenv("TASK_GATEWAY_URL"), client.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	always := context.Background()

	payload := client.FreeForm{"text": "grüß dich"}
	body := client.TaskSubmission{Auth: secret, TaskType: "echo", TaskTags: []string{"upper"}, Payload: payload}
	submitted, err := gateway.SubmitTaskWithResponse(always, nil, body)
	if err != nil {
		log.Fatal(err)
	}
	task, response := submitted.JSON200, submitted.HTTPResponse
	waitSeconds := 30.0
	for task != nil && (task.Status == client.TaskStatusPending || task.Status == client.TaskStatusRunning) {
		got, err := gateway.GetTaskWithResponse(always, task.RequestId, &client.GetTaskParams{Wait: &waitSeconds})
		if err != nil {
			log.Fatal(err)
		}
		task, response = got.JSON200, got.HTTPResponse
	}
	if task == nil || task.Result == nil || task.Result.Output == nil {
		log.Fatal("There is no result: ", response.Status)
	}
	fmt.Println(task.Status, *task.Result.Output)
}
