/**
 * The public entry `@task-gateway/simulator`: the gateway in a variable, for tests of its clients and agents.
 */
export type { AgentScript, Agents, Behaviour, PushHandler, ScriptedAgent } from './agent-script.ts';
export type { AddedFault, Fault, FaultName, Faults, FaultyOperation } from './fault.ts';
export { WorldBusy, type WorldClock } from './moving-time.ts';
export { createSimulator, type Simulator, type SimulatorOptions, type World } from './simulator.ts';
