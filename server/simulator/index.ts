/** The public entry `@task-gateway/simulator`: the gateway in a variable, for tests of what talks to it. */
export type { AddedFault, Fault, FaultName, Faults } from './faults.ts';
export type { PushHandler } from './pushes.ts';
export type { AgentScript, Agents, Behaviour, ScriptedAgent } from './scripted-agents.ts';
export { createSimulator, type Simulator, type SimulatorOptions, type World } from './simulator.ts';
export { WorldBusy, type WorldClock } from './world-clock.ts';
